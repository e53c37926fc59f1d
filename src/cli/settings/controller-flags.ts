import type { Command } from "commander";
import type { ClusterEntry } from "#config/cluster.ts";
import type { ControllerFlags, FlagContext, TypedFlags } from "#core/flags.ts";
import { nodeFlags } from "#core/node/flags.ts";
import { routeFlags } from "#core/route/flags.ts";
import { serviceFlags } from "#core/service/flags.ts";
import { taggingFlags } from "#core/tagging/flags.ts";

/** The flags of all controllers, in the order of the help; a controller with flags is a line here. */
const CONTROLLER_FLAGS: readonly ControllerFlags[] = [nodeFlags, serviceFlags, routeFlags, taggingFlags];

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
