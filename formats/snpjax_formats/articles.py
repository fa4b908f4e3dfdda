"""Names of types with their articles, for messages."""


def with_article(word: str, article: str = "a") -> str:
    """Return a word after its article: "a Neuron", "an int"; "An int" for the article `"A"`."""
    sounds_as_vowel = word[0].lower() in "aeiou" and not word.lower().startswith("uni")
    return f"{article}{'n' if sounds_as_vowel else ''} {word}"


def kind_of(value: object, article: str = "a") -> str:
    """Return the name of the type of a value after its article."""
    return with_article(type(value).__name__, article)
