"""One system in several layouts: they compute the same integers from different bytes."""

import numpy as np
from published_systems import listed_sorter

import snpjax as snp
from snpjax.spiking import Transition, TransitionMatrix, bytes_needed
from snpjax_formats import CSR, ELL, Compressed, Dense, Float32Dense, Int8Dense


small = TransitionMatrix(listed_sorter([3, 1, 2]))
print("The transition matrix of sorting three numbers, C' = C + S M:")
print(small)
print("The compressed synapse matrix (9 means no target):")
print(small.compressed_table())
print("Words by the papers' formulas:", small.words(), "\n")

system = listed_sorter([7, 3, 9, 1, 12, 4, 4, 11, 2, 8, 6, 5])
expected = snp.run(system)
forms = {
    layout.__name__: layout for layout in (ELL, Compressed, CSR, Dense, Int8Dense, Float32Dense)
}
forms |= {f"Transition({x.__name__})": Transition(x) for x in (Dense, Compressed, CSR)}
for name, form in forms.items():
    solution = snp.run(system, layout=form)
    assert np.array_equal(solution.configurations, expected.configurations)
    print(f"{name:24} {bytes_needed(system, form):8,} bytes")
