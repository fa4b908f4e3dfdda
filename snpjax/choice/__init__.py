"""How nondeterminism is resolved: one alternative for every chooser in every step."""

from snpjax_formats.arguments import explain_arguments

from .base import (
    NO_RULE as NO_RULE,
    AbstractChoice as AbstractChoice,
    Applicable as Applicable,
    ChooserRange as ChooserRange,
    Choosers as Choosers,
    FirstChoice as FirstChoice,
    Numbers as Numbers,
    Places as Places,
    Selected as Selected,
    Splittable as Splittable,
    Steps as Steps,
    Ways as Ways,
    answer_of as answer_of,
    for_choosers as for_choosers,
    has_weights as has_weights,
    is_valid as is_valid,
    knows_numbers as knows_numbers,
)
from .given import GivenChoices as GivenChoices
from .numbered import (
    MAX_WAYS as MAX_WAYS,
    DecodedChoice as DecodedChoice,
    NumberedChoice as NumberedChoice,
    num_alternatives as num_alternatives,
)
from .random import (
    UniformChoice as UniformChoice,
    WeightedChoice as WeightedChoice,
    of_slots as of_slots,
)
from .subsets import (
    first_subset as first_subset,
    nth_subset as nth_subset,
    random_subset as random_subset,
)


explain_arguments(__name__)
