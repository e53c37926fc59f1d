/** A file with more leading comment lines is not a cloud-config. */
const MAX_LINES = 1_000;

/** Whether a text is INI, as in the stock controllers' cloud-config: a section header comes first. */
export function isStockForm(text: string): boolean {
  for (const line of text.split("\n", MAX_LINES)) {
    const words = line.trim();
    if (words === "" || words.startsWith("#") || words.startsWith(";")) continue;
    return /^\[[A-Za-z][^\],:]*\](\s*[#;].*)?$/.test(words);
  }
  return false;
}
