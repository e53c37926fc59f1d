import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { Controller } from "#core/event.ts";

/** The short names that the stock cloud-controller-manager takes for its controllers as well. */
const ALIASES: Readonly<Record<string, Controller>> = { "cloud-node": "cloud-node-controller" };

/** The controllers that a `--controllers` list enables, or what is wrong with the list. */
export type ControllerSelection =
  | { readonly kind: "controllers"; readonly controllers: Controller[] }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Reads a list in the grammar of the stock controller: `*` means all, `NAME` enables, `-NAME` disables, and the first
 * entry that concerns a controller wins.
 */
export function selectControllers(list: string): ControllerSelection {
  const entries = list.split(",").map((entry) => entry.trim());
  const faults = entries.filter((entry) => entry !== "*" && !isKnown(entry)).map(unknownController);
  if (faults.length > 0) return { kind: "faults", faults };
  const controllers = Controller.options.filter((controller) => isEnabled(controller, entries));
  if (controllers.length > 0) return { kind: "controllers", controllers };
  return { kind: "faults", faults: [{ name: "--controllers", message: "no controller is left enabled" }] };
}

function isEnabled(controller: Controller, entries: readonly string[]): boolean {
  for (const entry of entries) {
    if (entry === "*" || canonicalName(entry) === controller) return true;
    if (entry.startsWith("-") && canonicalName(entry.slice(1)) === controller) return false;
  }
  return false;
}

function isKnown(entry: string): boolean {
  const name = canonicalName(entry.replace(/^-/, ""));
  return Controller.options.some((controller) => controller === name);
}

function canonicalName(name: string): string {
  return ALIASES[name] ?? name;
}

function unknownController(entry: string): ConfigurationFault {
  const known = [...Controller.options, ...Object.keys(ALIASES)].join(", ");
  return { name: "--controllers", message: `"${entry}" is no controller; known are ${known}` };
}
