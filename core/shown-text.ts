/**
 * Text that somebody else wrote, fit to be shown to people: at most so many characters (at least 1), cut with an ellipsis, and in
 * place of every character that is not seen but acts (control, line separator, direction, zero width, half a pair) its code, such
 * as `\u{001B}`. So it moves no cursor, starts no line and turns nothing around; what was shown once stays as it is.
 */
export function shown(text: string, maxCharacters = 256): string {
  let whole = "";
  let beforeCut = "";
  // An escape is never shorter than what it stands for, so that what follows this piece has no room anyway.
  for (const character of text.slice(0, maxCharacters + 1)) {
    whole += visible(character);
    if (whole.length > maxCharacters) return `${beforeCut}…`;
    if (whole.length < maxCharacters) beforeCut = whole;
  }
  return whole;
}

/** Categories of Unicode: controls, format characters, surrogates that stand alone, line and paragraph separators. */
const ACTS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

function visible(character: string): string {
  if (!ACTS.test(character)) return character;
  const code = Number(character.codePointAt(0)).toString(16).toUpperCase();
  return `\\u{${code.padStart(4, "0")}}`;
}
