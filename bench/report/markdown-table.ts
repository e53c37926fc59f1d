/** A table: the first row is its heading, the first column is left-aligned, the others right. Cells are escaped. */
export function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = heading.map((_, column) => (column === 0 ? "---" : "---:"));
  return [heading.map(escapeMarkdown), rule, ...rows.map((row) => row.map(escapeMarkdown))]
    .map(line)
    .join("\n");
}

/** Text from outside as one line that means nothing else in Markdown: no cell ends, no tag begins. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/[\\|`*_[\]]/g, "\\$&")
    .replaceAll("<", "&lt;");
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
