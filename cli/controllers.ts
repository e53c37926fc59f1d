import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Watch } from "#core/controller.ts";
import type { ControllerName } from "#core/event.ts";
import { shown } from "#core/shown-text.ts";
import { NAMED_WATCHES } from "#core/watches.ts";

/** The controllers that a `--controllers` list enables, or what is wrong with the list. */
export type ControllerSelection =
  | { readonly kind: "controllers"; readonly controllers: ControllerName[] }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Reads a list in the grammar of the stock controller: `*` means all that are on by default, `NAME` enables, `-NAME`
 * disables. A name beats `*` wherever the two stand; of two entries that name the same controller the first counts.
 */
export function selectControllers(list: string): ControllerSelection {
  const entries = list.split(",").map((entry) => entry.trim());
  const faults = [...new Set(entries)].flatMap(faultsOfEntry);
  if (faults.length > 0) return { kind: "faults", faults };
  const controllers = NAMED_WATCHES.filter((watch) => isEnabled(watch, entries)).map(({ name }) => name);
  if (controllers.length > 0) return { kind: "controllers", controllers };
  const message = `"${shown(list)}" leaves no controller enabled; known are ${knownNames()}`;
  return { kind: "faults", faults: [{ name: "--controllers", message }] };
}

/** Controllers of the stock controller manager and of AWS's that are no part of this one, each with its alias. */
const ELSEWHERE: readonly (readonly string[])[] = [["node-ipam-controller", "nodeipam"]];

function isEnabled(watch: Watch, entries: readonly string[]): boolean {
  const named = entries.find((entry) => isNameOf(watch, nameIn(entry)));
  if (named !== undefined) return !named.startsWith("-");
  return watch.onByDefault && entries.includes("*");
}

function faultsOfEntry(entry: string): ConfigurationFault[] {
  if (entry === "*" || NAMED_WATCHES.some((watch) => isNameOf(watch, nameIn(entry)))) return [];
  const isElsewhere = ELSEWHERE.some((names) => names.includes(nameIn(entry)));
  // What never runs may be disabled: lists that were written for the stock controller go on meaning the same.
  if (isElsewhere && entry.startsWith("-")) return [];
  const message = isElsewhere
    ? `"${entry}" is no part of this version; leave it to the stock controller, or take it out of the list`
    : `"${shown(entry)}" is no controller; known are ${knownNames()}`;
  return [{ name: "--controllers", message }];
}

function nameIn(entry: string): string {
  return entry.replace(/^-/, "");
}

function isNameOf({ name, aliases }: Watch, entry: string): boolean {
  return entry === name || aliases.includes(entry);
}

function knownNames(): string {
  return NAMED_WATCHES.flatMap(({ name, aliases }) => [name, ...aliases]).join(", ");
}
