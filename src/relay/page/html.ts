import { sanitizeText } from "#core/sanitize-text.ts";

const MARKUP = Symbol("markup");

/** Markup that is safe to send unchanged. No parsed data can have this type. */
export interface Markup {
  readonly [MARKUP]: string;
}

/** The values that a template accepts. Text is escaped and cut to 256 characters. */
export type Value = string | number | Markup | readonly Markup[];

/**
 * Builds markup from a template. Inserted values stay text, in elements and in attributes in double quotes.
 */
export function html(template: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { [MARKUP]: String.raw({ raw: template }, ...values.map(renderText)) };
}

/** Renders a value as the text to send. */
export function renderText(value: Value): string {
  // A fast path: most of a page is plain text, and the process has more important work.
  if (typeof value === "string" && PLAIN.test(value)) return value;
  if (typeof value === "string") return escapeMarkup(sanitizeText(value));
  if (typeof value === "number") return String(value);
  return MARKUP in value ? value[MARKUP] : value.map(renderText).join("");
}

/** Renders our own text without truncation; it is still escaped. */
export function renderUnabridged(own: string): Markup {
  return { [MARKUP]: escapeMarkup(own) };
}

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Short text in which no character has an effect on readers or in markup. */
const PLAIN = /^[a-zA-Z0-9 .,:;()%×+_/-]{0,256}$/;

/** Marks our own text as markup, without escaping it. */
export function toMarkup(own: string): Markup {
  return { [MARKUP]: own };
}
