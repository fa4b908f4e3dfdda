"""What is said of a model of any machine that is accepted but looks wrong."""


class ModelWarning(UserWarning):
    """A model that is accepted but hardly what was meant: a rule that can never apply, say."""
