import type { Command } from "commander";
import type { ClusterEntry } from "#config/cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";
import { CONTROLLER_FLAGS, DESCRIPTORS } from "#core/descriptors.ts";
import type { ControllerName } from "#core/event.ts";
import type { FlagContext, TypedFlags } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** Adds the flags that configure the controllers of the one cluster. */
export function addControllerFlags(command: Command): Command {
  command.option("--controllers <list>", "controllers to run: *, NAME, -NAME", "*");
  for (const { option, help } of CONTROLLER_FLAGS.flatMap(({ flags }) => flags)) command.option(option, help);
  return command;
}

/** By flag: what it sets in a cluster's entry, such as `nodes.monitorSeconds`. */
export const SET_BY_FLAGS: ReadonlyMap<string, string> = new Map(
  CONTROLLER_FLAGS.flatMap(({ flags }) => flags).map(({ option, sets }) => [
    option.split(" ")[0] ?? option,
    sets,
  ]),
);

/** Reads the given flags to the parts of a cluster's entry that they set. */
export function readControllerFlags(typed: TypedFlags, context: FlagContext): Partial<ClusterEntry> {
  return Object.fromEntries(
    CONTROLLER_FLAGS.flatMap((each) => {
      const value = each.read(typed, context);
      return value === undefined ? [] : [[each.key, value]];
    }),
  );
}

/** The controllers that a `--controllers` list enables, or what is wrong with the list. */
type ControllerSelection =
  | { readonly kind: "controllers"; readonly controllers: ControllerName[] }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Parses a list in the grammar of the stock controller: `*` means all that are on by default, `NAME` enables,
 * `-NAME` disables. A name wins over `*` in any position; of two entries for one controller, the first
 * counts.
 */
export function selectControllers(list: string): ControllerSelection {
  const entries = list.split(",").map((entry) => entry.trim());
  const faults = [...new Set(entries)].flatMap(checkEntry);
  if (faults.length > 0) return { kind: "faults", faults };
  const controllers = DESCRIPTORS.filter((each) => isEnabled(each, entries)).map(({ name }) => name);
  if (controllers.length > 0) return { kind: "controllers", controllers };
  const message = `"${sanitizeText(list)}" leaves no controller enabled; known are ${formatKnownNames()}`;
  return { kind: "faults", faults: [{ name: "--controllers", message }] };
}

/**
 * Controllers of the stock controller manager and of AWS's that this project does not contain, each with its
 * alias.
 */
const ELSEWHERE: readonly (readonly string[])[] = [["node-ipam-controller", "nodeipam"]];

function isEnabled(descriptor: ControllerDescriptor, entries: readonly string[]): boolean {
  const named = entries.find((entry) => isControllerName(descriptor, nameIn(entry)));
  if (named !== undefined) return !named.startsWith("-");
  return descriptor.enablement?.onByDefault === true && entries.includes("*");
}

function checkEntry(entry: string): ConfigurationFault[] {
  if (entry === "*" || DESCRIPTORS.some((each) => isControllerName(each, nameIn(entry)))) return [];
  const isElsewhere = ELSEWHERE.some((names) => names.includes(nameIn(entry)));
  // Such a controller may be disabled, so that lists written for the stock controller keep their meaning.
  if (isElsewhere && entry.startsWith("-")) return [];
  const message = isElsewhere
    ? `"${entry}" is not a part of this version; leave it to the stock controller, or take it out of the list`
    : `"${sanitizeText(entry)}" is not a controller; known are ${formatKnownNames()}`;
  return [{ name: "--controllers", message }];
}

function nameIn(entry: string): string {
  return entry.replace(/^-/, "");
}

function isControllerName({ name, enablement }: ControllerDescriptor, entry: string): boolean {
  return entry === name || enablement?.aliases?.includes(entry) === true;
}

function formatKnownNames(): string {
  return DESCRIPTORS.flatMap(({ name, enablement }) => [name, ...(enablement?.aliases ?? [])]).join(", ");
}
