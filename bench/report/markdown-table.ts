/**
 * Formats a table: the first row is its heading, the first column is left-aligned, the others right. Cells
 * are escaped.
 */
export function formatMarkdownTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const rule = heading.map((_, column) => (column === 0 ? "---" : "---:"));
  return [heading.map(escapeMarkdown), rule, ...rows.map((row) => row.map(escapeMarkdown))]
    .map(formatRow)
    .join("\n");
}

/** Escapes foreign text to one line without meaning in Markdown: it ends no cell and begins no tag. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/[\\|`*_[\]]/g, "\\$&")
    .replaceAll("<", "&lt;");
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
