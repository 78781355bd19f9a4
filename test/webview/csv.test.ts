/** What a table shows of comma-separated values. */
import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { readCsv } from "../../webview/presentations/csv.ts";

const { rows: mostRows, columns: mostColumns, cellCharacters } = LIMITS.presentation.table;

describe("a table", () => {
  const row = (cells: number, cell = "a") => Array<string>(cells).fill(cell).join(",");

  it("reads quotes, empty cells and every kind of line end", () => {
    const text = '\uFEFFname,sum\r\n"a, ""b""\n",=1\r,\n"open,2,';
    assert.deepEqual(readCsv(text), {
      rows: [
        ["name", "sum"],
        ['a, "b"\n', "=1"],
        ["", ""],
        ['"open', "2", ""],
      ],
      cut: false,
    });
  });

  it("reads semicolons or tabs where the first line has no comma of its own", () => {
    const rows = [
      ["name", "sum"],
      ["a, b", "1,5"],
    ];
    assert.deepEqual(readCsv("name;sum\na, b;1,5").rows, rows);
    assert.deepEqual(readCsv('"name";sum\n"a, b";"1,5"\n').rows, rows);
    assert.deepEqual(readCsv("name\tsum\r\na, b\t1,5").rows, rows);
    assert.deepEqual(readCsv('"one, two";three').rows, [["one, two", "three"]]);
    assert.deepEqual(readCsv("name;x,sum").rows, [["name;x", "sum"]]);
  });

  it("says that there is more only if something is left out", () => {
    const shown = (text: string) => {
      const { rows, cut } = readCsv(text);
      return [rows.length, rows[0]!.length, rows[0]![0]!.length, cut];
    };
    for (const end of ["", "\n"]) {
      assert.deepEqual(shown(row(mostColumns) + end), [1, mostColumns, 1, false]);
      assert.deepEqual(shown(row(mostColumns + 1) + end), [1, mostColumns, 1, true]);
      assert.deepEqual(shown(row(1, "a".repeat(cellCharacters)) + end), [1, 1, cellCharacters, false]);
      assert.deepEqual(shown(row(1, "a".repeat(cellCharacters + 1)) + end), [1, 1, cellCharacters, true]);
      assert.deepEqual(shown("a\n".repeat(mostRows - 1) + "a" + end), [mostRows, 1, 1, false]);
      assert.deepEqual(shown("a\n".repeat(mostRows) + "a" + end), [mostRows, 1, 1, true]);
    }
  });

  it("reads a cell of any length", () => {
    const most = LIMITS.presentation.contentBytes - 2;
    for (const text of ["a".repeat(most), '""'.repeat(most / 2)]) {
      const cell = (text.startsWith("a") ? "a" : '"').repeat(cellCharacters);
      assert.deepEqual(readCsv(`"${text}"`), { rows: [[cell]], cut: true });
      assert.deepEqual(readCsv(`"${text}`), { rows: [[`"${text}`.slice(0, cellCharacters)]], cut: true });
    }
  });
});
