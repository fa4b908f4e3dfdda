"""Colours are told apart by the colour-blind and in grey, where nothing else tells shapes apart."""

import itertools
import re

import numpy as np
import pytest

import snpjax as snp
from snpjax.drawing.scene import BLACK, BLUE, GREY, ORANGE, PAPER, VERMILLION  # the palette
from snpjax.viz.page.assets import asset


pytest.importorskip("matplotlib")
from snpjax.viz.timings import COLOURS  # noqa: E402
from tests.support.viz_pictures import compared, natural_numbers, solution_of  # noqa: E402


#: Linear RGB as it is seen without one kind of cones: Machado, Oliveira and Fernandes 2009, "A
#: physiologically-based model for simulation of color vision deficiency", severity 1.
DEFICIENCIES = {
    "normal": np.eye(3),
    "protanopia": np.asarray(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.asarray(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.asarray(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
_XYZ = np.asarray(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # of linear sRGB, D65

#: Least distances in CIELAB (2.3 is just noticed): of colours, and of their greys.
APART, APART_IN_GREY = 10.0, 8.0


def rgb(colour: str) -> np.ndarray:
    return np.asarray([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def linear(colours: np.ndarray) -> np.ndarray:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def lab(colours: np.ndarray, deficiency: str = "normal") -> np.ndarray:
    """CIELAB of (..., 3) sRGB colours as somebody sees them."""
    seen = np.clip(linear(colours) @ DEFICIENCIES[deficiency].T, 0, 1)
    xyz = seen @ _XYZ.T / _XYZ.sum(axis=1)
    x, y, z = np.moveaxis(
        np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29), -1, 0
    )
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    low, high = sorted(float(linear(rgb(c)) @ _XYZ[1]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def schemes() -> list[dict[str, str]]:
    """The colours of the page, in light and dark."""
    text = asset("static/style.css").decode()
    blocks = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks]


#: Colours that stand in one picture and mean something.
TOGETHER = {
    "lines of networks, nets and graphs": (BLACK, GREY, BLUE, VERMILLION, PAPER),
    "spikes of a raster": (BLACK, VERMILLION, PAPER),
    "bars of layouts": (*COLOURS, PAPER),
    "bars of paths": (BLUE, ORANGE),
    **{
        f"the page, {name}": tuple(scheme[x] for x in ("accent", "fire", "edge", "ink", "panel"))
        for name, scheme in zip(("light", "dark"), schemes(), strict=True)
    },
}


def test_distances_are_those_that_are_known():
    """White against black, and red against green, which some cannot tell apart."""
    white, black, red, green = (rgb(c) for c in ("#ffffff", "#000000", "#c80000", "#5a7d00"))
    assert lab(white) == pytest.approx([100, 0, 0], abs=0.1) and lab(black)[0] == 0
    assert lab(rgb("#ff0000")) == pytest.approx([53.2, 80.1, 67.2], abs=0.2)
    assert contrast("#ffffff", "#000000") == pytest.approx(21)

    def apart(kind):
        return np.linalg.norm(lab(red, kind) - lab(green, kind))

    assert apart("deuteranopia") < apart("normal") / 3


@pytest.mark.parametrize("name", TOGETHER)
def test_colours_are_told_apart(name):
    for one, other in itertools.combinations(TOGETHER[name], 2):
        for kind in DEFICIENCIES:
            apart = np.linalg.norm(lab(rgb(one), kind) - lab(rgb(other), kind))
            assert apart >= APART, (one, other, kind, apart)
        in_grey = abs(lab(rgb(one))[0] - lab(rgb(other))[0])
        assert in_grey >= APART_IN_GREY, (one, other, in_grey)


def test_lines_and_texts_stand_out_from_paper():
    assert all(contrast(colour, PAPER) >= 4.5 for colour in (BLACK, GREY, BLUE))
    assert contrast(VERMILLION, PAPER) >= 3  # thick lines


#: By ground: the texts that stand on it, and the shapes that somebody has to see.
TEXTS = {
    "panel": ("ink", "soft", "accent", "fire", "wrong", "odd"),
    "ground": ("ink", "soft", "accent", "fire"),
    "tint": ("ink", "soft", "accent", "fire"),
    "fire-tint": ("ink", "soft", "fire"),
    "closed": ("ink", "soft", "accent", "fire"),
    "closed-line": ("ink",),  # of neurons seen from afar
    "ink": ("panel",),
    "fire": ("panel",),
    "wrong": ("panel",),
    "accent": ("on-accent",),
}
SHAPES = {
    "panel": ("edge", "field", "accent", "fire", "soft"),
    "ground": ("edge", "field", "accent", "fire", "ink"),
    "tint": ("accent",),
    "fire-tint": ("fire", "accent"),
    "closed": ("soft", "accent"),
}
#: Borders between parts, and what is filled where a text or another border says the same.
DECORATION = {"line", "closed-line", "shadow", "sans", "mono", "column"}


@pytest.mark.parametrize("scheme", schemes(), ids=["light", "dark"])
def test_texts_and_shapes_of_the_page_stand_out(scheme):
    """WCAG 2.1 AA, 1.4.3 and 1.4.11."""
    for pairs, least in ((TEXTS, 4.5), (SHAPES, 3.0)):
        for ground, colours in pairs.items():
            for colour in colours:
                found = contrast(scheme[colour], scheme[ground])
                assert found >= least, (colour, ground, found)
    for colour in re.findall('"(#[0-9a-f]{6})"', asset("static/raster.js").decode()):
        assert contrast(colour, scheme["panel"]) >= 3, colour


def test_every_colour_of_the_style_is_compared():
    rules = asset("static/style.css").decode().partition("* { box-sizing")[2]
    texts, grounds = (
        set(re.findall(rf"[ {{;]{kind}: var\(--([\w-]+)", rules))
        for kind in ("color", "background")
    )
    used = set(re.findall(r"var\(--([\w-]+)", rules))
    drawn = {name for pairs in (TEXTS, SHAPES) for names in pairs.values() for name in names}
    assert {"ink", "soft", "wrong"} <= texts <= {x for names in TEXTS.values() for x in names}
    assert {"panel", "tint", "accent"} <= grounds <= set(TEXTS)
    assert used <= drawn | set(TEXTS) | DECORATION


@pytest.mark.parametrize("spikes", [[[0, 5, 2], [1, 0, 2]], [[0, -5, 2], [1, 0, 2]]])
def test_more_spikes_are_lighter(spikes):
    """Everybody sees the order of counts, negative ones too, and so does a grey copy."""
    (image,) = snp.viz.heat_map(solution_of(natural_numbers(), None, spikes)).images
    colours = image.get_cmap()(np.linspace(0, 1, 64))[:, :3]
    for kind in DEFICIENCIES:
        lightness = lab(colours, kind)[:, 0]
        assert np.all(np.diff(lightness) > 0) and np.ptp(lightness) > 60, kind


def test_stacked_cells_have_edges_and_other_greys():
    axes = compared()._stacked(None, {f"{k}": np.full(24, 9.0) for k in range(7)}, "generations")
    parts = axes.collections
    greys = [lab(part.get_facecolor()[0, :3])[0] for part in parts]
    assert len(greys) == 7 and np.all(np.abs(np.diff(greys)) > APART_IN_GREY)
    for part in parts:
        assert np.allclose(part.get_edgecolor(), 1) and part.get_linewidth()[0] > 0
