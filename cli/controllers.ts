import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Watch } from "#core/controller.ts";
import type { ControllerName } from "#core/event.ts";
import { WATCHES } from "#core/watches.ts";

/** The controllers that a `--controllers` list enables, or what is wrong with the list. */
export type ControllerSelection =
  | { readonly kind: "controllers"; readonly controllers: ControllerName[] }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Reads a list in the grammar of the stock controller: `*` means all that are on by default, `NAME` enables, `-NAME`
 * disables, and the first entry that names a controller wins over `*`.
 */
export function selectControllers(list: string): ControllerSelection {
  const entries = list.split(",").map((entry) => entry.trim());
  const faults = entries.filter((entry) => entry !== "*" && !isKnown(entry)).map(unknownController);
  if (faults.length > 0) return { kind: "faults", faults };
  const controllers = WATCHES.filter((watch) => isEnabled(watch, entries)).map(({ name }) => name);
  if (controllers.length > 0) return { kind: "controllers", controllers };
  return { kind: "faults", faults: [{ name: "--controllers", message: "no controller is left enabled" }] };
}

function isEnabled(watch: Watch, entries: readonly string[]): boolean {
  const named = entries.find((entry) => isNameOf(watch, entry.replace(/^-/, "")));
  if (named !== undefined) return !named.startsWith("-");
  return watch.onByDefault && entries.includes("*");
}

function isKnown(entry: string): boolean {
  return WATCHES.some((watch) => isNameOf(watch, entry.replace(/^-/, "")));
}

function isNameOf({ name, aliases }: Watch, entry: string): boolean {
  return entry === name || aliases.includes(entry);
}

function unknownController(entry: string): ConfigurationFault {
  const known = WATCHES.flatMap(({ name, aliases }) => [name, ...aliases]).join(", ");
  return { name: "--controllers", message: `"${entry}" is no controller; known are ${known}` };
}
