"""Adds two numbers bit by bit with a single neuron that keeps the carry."""

import snpjax as snp


def bits(number: int) -> list[int]:
    """Binary digits, least significant first."""
    return [int(digit) for digit in reversed(f"{number:b}")]


def add(x: int, y: int) -> int:
    """x + y, computed by a spiking neural P system."""
    length = max(x.bit_length(), y.bit_length(), 1)
    one, other = (bits(n) + [0] * (length - len(bits(n))) for n in (x, y))
    # 1 spike: emit 1. 2 spikes: emit 0 and keep 1 as the carry. 3 spikes: emit 1 and keep 1.
    adder = snp.Neuron("adder", 0, ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"])
    system = snp.SpikingSystem(
        [adder],
        input={"adder": [a + b for a, b in zip(one, other, strict=True)]},
        output="adder",
    )
    solution = snp.run(system)
    # The input of step 1 is added in step 2, so the sum begins there.
    return sum(int(bit) << place for place, bit in enumerate(solution.spike_train[1:]))


for x, y in [(7, 11), (0, 0), (255, 1), (123_456, 654_321)]:
    print(f"{x} + {y} = {add(x, y)}")
    assert add(x, y) == x + y
