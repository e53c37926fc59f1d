/** Whoever writes comments for longer than this means another file. */
const MAX_LINES = 1_000;

/** Whether a text is INI, as the stock controllers' cloud-config: a section's head stands before anything else. */
export function isStockForm(text: string): boolean {
  for (const line of text.split("\n", MAX_LINES)) {
    const words = line.trim();
    if (words === "" || words.startsWith("#") || words.startsWith(";")) continue;
    return /^\[[A-Za-z][^\],:]*\](\s*[#;].*)?$/.test(words);
  }
  return false;
}
