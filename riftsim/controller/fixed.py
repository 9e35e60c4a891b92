"""No control: workers and window keep their starting values (the paper's Fixed, section 4.7)."""

from riftsim.controller.protocol import ControlView, SetPoint


class Fixed:
    """Leaves every set-point as it is."""

    def decide(self, view: ControlView) -> SetPoint:
        """Return the present set-point."""
        return SetPoint(view.allowance, view.window)
