"""A system that generates every number greater than 1, read from a file and run many times."""

from collections import Counter
from pathlib import Path

import jax
import numpy as np

import snpjax as snp


system = snp.read(Path(__file__).with_name("natural_numbers.pli"))
print(system)

# One computation. The key decides every choice: the same key gives the same computation.
solution = snp.run(system, choice=snp.UniformChoice(jax.random.key(1)))
print(solution)
print("number generated:", solution.interval())

# Ten thousand computations in one batch. Each number is half as likely as the one before it.
paths = snp.run(system, choice=snp.UniformChoice(jax.random.key(0)), paths=10_000, max_steps=100)
numbers = Counter(paths.intervals().tolist())
for number in sorted(numbers):
    print(f"{number:3} {numbers[number]:5} {'#' * (numbers[number] // 100)}")

assert np.all(paths.halted)
assert min(numbers) == 2, "1 cannot be generated"
assert {2, 3, 4, 5, 6, 7, 8} <= numbers.keys()
