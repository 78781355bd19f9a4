/** What a screen shows now. Rows and columns count from 0. */
export interface ScreenView {
  readonly rows: number;
  readonly columns: number;
  readonly cursor: { readonly row: number; readonly column: number; readonly isShown: boolean };
  /** The program has begun to draw a frame and hasn't ended it. */
  readonly isDrawing: boolean;
  /** Text of a row, without trailing blanks. */
  line(row: number): string;
  style(row: number, column: number): { readonly isDim: boolean; readonly isBold: boolean };
}
