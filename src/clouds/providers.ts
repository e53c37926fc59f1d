import * as z from "zod";
import { aws } from "#clouds/aws/provider.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import { digitalocean } from "#clouds/digitalocean/provider.ts";
import { hcloud } from "#clouds/hcloud/provider.ts";
import { keepalived } from "#clouds/keepalived/provider.ts";
import { kubevip } from "#clouds/kubevip/provider.ts";
import { memory } from "#clouds/memory/provider.ts";
import { noCloud } from "#clouds/no-cloud/provider.ts";
import { oci } from "#clouds/oci/provider.ts";
import { openstack } from "#clouds/openstack/provider.ts";
import type { CloudProvider, LoadCloudOptions } from "#clouds/provider.ts";
import { rancher } from "#clouds/rancher/provider.ts";

/** All clouds; a new one needs its folder and a line here. */
export const CLOUD_PROVIDERS = [
  aws,
  digitalocean,
  hcloud,
  keepalived,
  kubevip,
  memory,
  noCloud,
  oci,
  openstack,
  rancher,
] as const;

type ConfigSchema<Kind> = Kind extends CloudProvider<infer Schema> ? Schema : never;
type Schemas<Kinds extends readonly unknown[]> = Kinds extends readonly [infer First, ...infer Rest]
  ? [ConfigSchema<First>, ...Schemas<Rest>]
  : [];

// `map` loses which position has which schema; the list above keeps it.
const schemas = CLOUD_PROVIDERS.map(({ config }) => config) as unknown as Schemas<typeof CLOUD_PROVIDERS>;

/** A cluster's `cloud:`, of any cloud. */
export const CloudConfig = z.discriminatedUnion("provider", schemas);
export type CloudConfig = z.output<typeof CloudConfig>;

/** A provider that takes any configuration, provided that it is its own. */
export type AnyCloudProvider = CloudProvider<z.ZodType<CloudConfig> & z.core.$ZodTypeDiscriminable>;

/** Returns the provider of this name; undefined if there is no such cloud. */
export function findCloudProvider(provider: string | undefined): AnyCloudProvider | undefined {
  const kinds = CLOUD_PROVIDERS as readonly unknown[] as readonly AnyCloudProvider[];
  return kinds.find((kind) => kind.provider === provider);
}

/** Returns the provider that has a preset of this name, and the preset. */
export function findPreset(
  name: string | undefined,
): { readonly kind: AnyCloudProvider; readonly preset: Readonly<Record<string, string>> } | undefined {
  if (name === undefined) return undefined;
  const kinds = CLOUD_PROVIDERS as readonly unknown[] as readonly AnyCloudProvider[];
  const kind = kinds.find(({ presets = {} }) => Object.hasOwn(presets, name));
  const preset = kind?.presets?.[name];
  return kind === undefined || preset === undefined ? undefined : { kind, preset };
}

/** Returns the provider of a parsed configuration. */
export function getCloudProvider({ provider }: CloudConfig): AnyCloudProvider {
  const kind = findCloudProvider(provider);
  if (kind === undefined) throw new Error(`"${provider}" is not a cloud`);
  return kind;
}

/** The load balancer models of all clouds that have one, by cloud name; each is imported on demand. */
export const LOAD_BALANCER_MODELS = mapProviders(({ importLoadBalancerModel }) => importLoadBalancerModel);

/** The models of node tags of all clouds that have one, by cloud name; each is imported on demand. */
export const NODE_TAGS_MODELS = mapProviders(({ importNodeTagsModel }) => importNodeTagsModel);

function mapProviders<Value>(
  select: (provider: AnyCloudProvider) => Value | undefined,
): Readonly<Record<string, Value>> {
  const providers = CLOUD_PROVIDERS as readonly unknown[] as readonly AnyCloudProvider[];
  return Object.fromEntries(
    providers.flatMap((provider) => {
      const value = select(provider);
      return value === undefined ? [] : [[provider.provider, value]];
    }),
  );
}

/** Creates the checks of a cloud's configuration; undefined for a cloud without checks. */
export async function diagnose(
  config: CloudConfig,
  options: LoadCloudOptions,
): Promise<Diagnosis | undefined> {
  return getCloudProvider(config).diagnose?.(config, options);
}

/** Imports and loads the cloud of a configuration. */
export function loadCloud(config: CloudConfig, options: LoadCloudOptions = {}): Promise<Cloud> {
  return getCloudProvider(config).load(config, options);
}
