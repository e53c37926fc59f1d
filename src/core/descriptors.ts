import type * as z from "zod";
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

/** The functions that have a controller. */
export type ControllerFunctionName = (typeof LISTED)[number]["functionName"];

export const DESCRIPTORS: readonly (ControllerDescriptor & {
  readonly functionName: ControllerFunctionName;
})[] = LISTED;

/** Other controller names that `--controllers` and cluster entries accept, by their canonical name. */
export const CONTROLLER_ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  DESCRIPTORS.flatMap(({ name, enablement }) => (enablement?.aliases ?? []).map((alias) => [alias, name])),
);

/** The controllers that are disabled by default, with manifests in a folder of their name in infra/rbac. */
export const OPTIONAL_CONTROLLERS: readonly string[] = DESCRIPTORS.filter(
  ({ enablement }) => enablement?.onByDefault !== true,
).map(({ name }) => name);

type DescribedSettings<Each> = Each extends { readonly settings: infer Schemas } ? Schemas : never;

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** By key of a cluster's entry: the schema of the settings of a controller. */
type SettingsSchemas = Intersection<DescribedSettings<(typeof LISTED)[number]>>;

/** The settings of all controllers in a cluster's entry, by their key. */
export type ControllerSettings = {
  readonly [Key in keyof SettingsSchemas]: z.output<SettingsSchemas[Key]>;
};

/** The keys of a cluster's entry that configure controllers, as the shape of a schema; each may be missing. */
export const CONTROLLER_SETTINGS = Object.fromEntries(
  DESCRIPTORS.flatMap(({ settings = {} }) =>
    Object.entries(settings).map(([key, schema]) => [key, schema.prefault({})]),
  ),
) as { readonly [Key in keyof SettingsSchemas]: z.ZodPrefault<SettingsSchemas[Key]> };

/** Returns the settings of all controllers without the other members of `settings`. */
export function pickControllerSettings(settings: ControllerSettings): ControllerSettings {
  const keys = Object.keys(CONTROLLER_SETTINGS) as (keyof ControllerSettings)[];
  return Object.fromEntries(keys.map((key) => [key, settings[key]])) as ControllerSettings;
}
