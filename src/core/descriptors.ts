import { csrDescriptor } from "#core/csr/descriptor.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";
import type { ControllerFlags } from "#core/flags.ts";
import { nodeDescriptor } from "#core/node/descriptor.ts";
import { nodeFlags } from "#core/node/settings.ts";
import { nodeLifecycleDescriptor } from "#core/node-lifecycle/descriptor.ts";
import { routeDescriptor } from "#core/route/descriptor.ts";
import { routeFlags } from "#core/route/settings.ts";
import { serviceDescriptor } from "#core/service/descriptor.ts";
import { serviceFlags } from "#core/service/settings.ts";
import { taggingDescriptor } from "#core/tagging/descriptor.ts";
import { taggingFlags } from "#core/tagging/settings.ts";

/** Every controller with a name of its own in `--controllers`, in listing order; a new one is a line here. */
const LISTED = [
  nodeDescriptor,
  nodeLifecycleDescriptor,
  csrDescriptor,
  serviceDescriptor,
  routeDescriptor,
  taggingDescriptor,
] as const;

/** The schemas of the controllers' settings, by their keys in a cluster's entry; every value has a default. */
export const CONTROLLER_SETTINGS = {
  ...nodeDescriptor.settings,
  ...serviceDescriptor.settings,
  ...routeDescriptor.settings,
  ...taggingDescriptor.settings,
};

/** The flags of all controllers, in the order of the help; a controller with flags is a line here. */
export const CONTROLLER_FLAGS: readonly ControllerFlags[] = [
  nodeFlags,
  serviceFlags,
  routeFlags,
  taggingFlags,
];

/** The functions that have a controller. */
export type ControllerFunctionName = (typeof LISTED)[number]["functionName"];

export const DESCRIPTORS: readonly (ControllerDescriptor & {
  readonly functionName: ControllerFunctionName;
})[] = LISTED;

/** Other controller names that `--controllers` and cluster entries accept, by their canonical name. */
export const CONTROLLER_ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  LISTED.flatMap(({ name, enablement }) => enablement.aliases.map((alias) => [alias, name])),
);

/** The controllers that are disabled by default, with manifests in a folder of their name in infra/rbac. */
export const OPTIONAL_CONTROLLERS: readonly string[] = DESCRIPTORS.filter(
  ({ enablement }) => enablement?.onByDefault !== true,
).map(({ name }) => name);
