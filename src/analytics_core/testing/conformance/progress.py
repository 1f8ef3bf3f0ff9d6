"""What every `Progress` must keep."""

from __future__ import annotations

import threading

import pytest

from analytics_core.ports import Progress


class ProgressConformance:
    """Subclass it and override the fixture `progress`."""

    @pytest.fixture
    def progress(self) -> Progress:
        """Return what shows progress, for the test."""
        raise NotImplementedError("override the fixture `progress`")

    @pytest.mark.parametrize("total", [3, 0, None])
    def test_it_is_told_of_units_up_to_and_beyond_the_total(self, progress: Progress, total: int | None) -> None:
        """Nobody promises that the total is right."""
        with progress.bar("charts", total=total, unit="chart") as tell:
            for done in (1, 0, 5):
                tell(done)

    def test_work_inside_of_other_work_and_in_other_threads_is_taken(self, progress: Progress) -> None:
        """Queries of a chart are asked while a dashboard is, and jobs run beside both."""

        def work() -> None:
            with progress.bar("queries", total=1, unit="query") as tell:
                tell(1)
                ended.append(True)

        ended: list[bool] = []
        with progress.bar("charts", total=2, unit="chart") as tell:
            work()
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            tell(2)
        assert ended == [True, True]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_what_stops_the_work_goes_on_upwards(self, progress: Progress, error: type[BaseException]) -> None:
        """And the next work may begin."""
        with pytest.raises(error), progress.bar("charts", total=2, unit="chart"):
            raise error
        with progress.bar("charts", total=2, unit="chart") as tell:
            tell(1)

    def test_standard_output_is_left_alone(self, progress: Progress, capfd: pytest.CaptureFixture[str]) -> None:
        """It may be what another program reads."""
        with progress.bar("charts", total=1, unit="chart") as tell:
            tell(1)
        assert capfd.readouterr().out == ""
