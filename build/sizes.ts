/** What one bundle weighs, in bytes; `zip` for a function alone. */
export interface Size {
  readonly name: string;
  /** Before it is minified. */
  readonly raw?: number;
  readonly minified: number;
  readonly zip?: number;
  /** Milliseconds to import it in a new process, the median of several. */
  readonly importMs?: number;
}

/** The sizes as a table for people. */
export function tableOf(sizes: readonly Size[]): string {
  const rows = sizes.map(({ name, raw, minified, zip, importMs }) => [
    name,
    kilobytes(raw),
    kilobytes(minified),
    kilobytes(zip),
    importMs?.toFixed(0) ?? "-",
  ]);
  const table = [["bundle", "raw KB", "minified KB", "zip KB", "import ms"], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    ),
  );
  return lines.map((cells) => cells.join("  ")).join("\n");
}

function kilobytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : (bytes / 1000).toFixed(1);
}
