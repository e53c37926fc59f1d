import { shown } from "#core/shown-text.ts";

const MARKUP = Symbol("markup");

/** Markup that is safe to be sent as it is; nothing that was parsed can be taken for it. */
export interface Markup {
  readonly [MARKUP]: string;
}

/** What may stand in a template: text is escaped, and cut to 256 characters, of which none acts. */
export type Value = string | number | Markup | readonly Markup[];

/** Makes markup of a template; what it is filled with stays text, within elements and within attributes in double quotes. */
export function html(template: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { [MARKUP]: String.raw({ raw: template }, ...values.map(textOf)) };
}

/** As it is sent. */
export function textOf(value: Value): string {
  // Most of a page is such text, and it is made in a process that has better things to do.
  if (typeof value === "string" && PLAIN.test(value)) return value;
  if (typeof value === "string") return escapeMarkup(shown(value));
  if (typeof value === "number") return String(value);
  return MARKUP in value ? value[MARKUP] : value.map(textOf).join("");
}

/** Our own text at its whole length; it stays text. */
export function unabridged(own: string): Markup {
  return { [MARKUP]: escapeMarkup(own) };
}

function escapeMarkup(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Short enough, and nothing in it acts, on a reader or in markup. */
const PLAIN = /^[a-zA-Z0-9 .,:;()%×+_/-]{0,256}$/;

/** Our own text, in which characters that act in markup are meant. */
export function asMarkup(own: string): Markup {
  return { [MARKUP]: own };
}
