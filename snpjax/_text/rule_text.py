"""The rule of a net's steps, in words."""


def rule_text(name: str) -> str:
    """Name a rule, as in "the Petri rule"."""
    return f"the {name.capitalize()} rule"


def under_rule(name: str) -> str:
    """Name the rule after a verb, as in " under the Petri rule"; nothing where there is none."""
    return f" under {rule_text(name)}" if name else ""
