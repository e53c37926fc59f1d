/** Characters of a line in Markdown at most. */
const WIDTH = 120;

/**
 * Breaks a paragraph of Markdown into lines of at most 120 characters. Lines after the first begin with
 * `indent`, such as two spaces in a list. A longer word stays whole.
 */
export function wrapParagraph(text: string, indent = ""): string {
  const [first = "", ...words] = text.split(" ");
  const lines = [first];
  for (const word of words) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(`${indent}${word}`);
  }
  return lines.join("\n");
}

/** The head of a page: its title, and who needs it; ends with an empty line. */
export function formatPageHead(title: string, introduction: string): string {
  return `# ${title}\n\n${wrapParagraph(introduction)}\n\n`;
}
