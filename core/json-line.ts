/** JSON leaves these as they are; half pairs and the first controls it escapes itself. */
const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value as JSON on one line, which parses to the same and holds no character that would act on the terminal it is printed to. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(ACTS, escaped);
}

function escaped(character: string): string {
  let text = "";
  for (let index = 0; index < character.length; index += 1)
    text += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  return text;
}
