"""How pictures look."""
from __future__ import annotations


def use_style() -> None:
    """For all that matplotlib draws from here on, into files alone."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.fontsize": 8,
            "svg.hashsalt": "dcgn",  # the same picture is the same file
        }
    )
