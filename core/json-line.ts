/** JSON does not escape these; it does escape lone surrogates and C0 controls. */
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a value as one line of JSON without characters that act on a terminal. It parses to an equal value.
 */
export function formatJsonLine(value: unknown): string {
  return JSON.stringify(value).replace(ACTS, escapeCharacter);
}

function escapeCharacter(character: string): string {
  let text = "";
  for (let index = 0; index < character.length; index += 1)
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return text;
}
