import { csrDescriptor } from "#core/csr/descriptor.ts";
import type { ControllerDescriptor } from "#core/descriptor.ts";
import { nodeDescriptor } from "#core/node/descriptor.ts";
import { nodeLifecycleDescriptor } from "#core/node-lifecycle/descriptor.ts";
import { routeDescriptor } from "#core/route/descriptor.ts";
import { serviceDescriptor } from "#core/service/descriptor.ts";
import { taggingDescriptor } from "#core/tagging/descriptor.ts";

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
