/** The daemon's own screen of a terminal, where nobody needs what it tells. */
import { Drawing } from "../../daemon/runtimes/terminal/drawing.ts";
import { Screen } from "../../daemon/runtimes/terminal/screen.ts";
import { RealClock } from "../../platform/real-clock.ts";

export function quietScreen(columns: number, rows: number): Screen {
  const failed = (error: unknown): void => {
    throw error;
  };
  return new Screen(
    columns,
    rows,
    { answer: () => {}, reads: () => {}, failed },
    new Drawing(new RealClock()),
  );
}
