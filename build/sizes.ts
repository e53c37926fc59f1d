/** The size of one bundle in bytes; `zip` only for a function. */
export interface Size {
  readonly name: string;
  /** The size before minification. */
  readonly raw?: number;
  readonly minified: number;
  readonly zip?: number;
  /** The milliseconds of importing it in a new process, the median of several. */
  readonly importMs?: number;
}

/** Formats the sizes as a table for people. */
export function formatSizeTable(sizes: readonly Size[]): string {
  const rows = sizes.map(({ name, raw, minified, zip, importMs }) => [
    name,
    formatKilobytes(raw),
    formatKilobytes(minified),
    formatKilobytes(zip),
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

function formatKilobytes(bytes: number | undefined): string {
  return bytes === undefined ? "-" : (bytes / 1000).toFixed(1);
}
