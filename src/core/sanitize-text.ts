/**
 * Returns text from outside, safe to show to people: truncated with an ellipsis to a maximum of characters
 * (at least 1). It replaces every character that is invisible but acts (control, line separator, direction,
 * zero width, lone surrogate) by its code, such as `\u{001B}`. So the text moves no cursor and starts no
 * line. Sanitizing twice changes nothing.
 */
export function sanitizeText(text: string, maxCharacters = 256): string {
  let whole = "";
  let beforeCut = "";
  // An escape is never shorter than its character, so later text would not fit anyway.
  for (const character of text.slice(0, maxCharacters + 1)) {
    whole += escapeCharacter(character);
    if (whole.length > maxCharacters) return `${beforeCut}…`;
    if (whole.length < maxCharacters) beforeCut = whole;
  }
  return whole;
}

/** Unicode categories: controls, format characters, lone surrogates, line and paragraph separators. */
const ACTS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function escapeCharacter(character: string): string {
  if (!ACTS.test(character)) return character;
  const code = Number(character.codePointAt(0)).toString(16).toUpperCase();
  return `\\u{${code.padStart(4, "0")}}`;
}

/** Returns the message of a thrown value of any type. */
export function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
