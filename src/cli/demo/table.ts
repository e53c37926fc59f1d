/**
 * Formats rows as a table in plain text: the first row is the heading, the first column is left-aligned,
 * numbers right.
 */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ");
  const [heading, ...body] = rows;
  if (heading === undefined) return "";
  return [line(heading), widths.map((width) => "─".repeat(width)).join("  "), ...body.map(line)].join("\n");
}

/** Returns the value below which `share` (0–1) of the values are; NaN without values. */
export function getPercentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Formats milliseconds for people. */
export function formatMs(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(2)} s`;
}
