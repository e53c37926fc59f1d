import * as z from "zod";
import { aws } from "#clouds/aws/kind.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { digitalocean } from "#clouds/digitalocean/kind.ts";
import { hcloud } from "#clouds/hcloud/kind.ts";
import { keepalived } from "#clouds/keepalived/kind.ts";
import type { CloudKind, LoadCloudOptions } from "#clouds/kind.ts";
import { kubevip } from "#clouds/kubevip/kind.ts";
import { memory } from "#clouds/memory/kind.ts";
import { noCloud } from "#clouds/no-cloud/kind.ts";
import { oci } from "#clouds/oci/kind.ts";
import { openstack } from "#clouds/openstack/kind.ts";
import { rancher } from "#clouds/rancher/kind.ts";

/** Every cloud there is; a new one is its folder and a line here. */
export const CLOUD_KINDS = [
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

type SchemaOf<Kind> = Kind extends CloudKind<infer Schema> ? Schema : never;
type Schemas<Kinds extends readonly unknown[]> = Kinds extends readonly [infer First, ...infer Rest]
  ? [SchemaOf<First>, ...Schemas<Rest>]
  : [];

// `map` forgets which place has which schema, and the list above is the one that knows.
const schemas = CLOUD_KINDS.map(({ config }) => config) as unknown as Schemas<typeof CLOUD_KINDS>;

/** A cluster's `cloud:`, whichever cloud it is. */
export const CloudConfig = z.discriminatedUnion("provider", schemas);
export type CloudConfig = z.output<typeof CloudConfig>;

/** A kind that may be asked about any configuration, as long as that is its own. */
export type AnyCloudKind = CloudKind<z.ZodType<CloudConfig> & z.core.$ZodTypeDiscriminable>;

/** The kind of a provider's name, or undefined where there is no such cloud. */
export function findCloudKind(provider: string | undefined): AnyCloudKind | undefined {
  const kinds = CLOUD_KINDS as readonly unknown[] as readonly AnyCloudKind[];
  return kinds.find((kind) => kind.provider === provider);
}

/** The kind that has a preset of this name, and the preset. */
export function findPreset(
  name: string | undefined,
): { readonly kind: AnyCloudKind; readonly preset: Readonly<Record<string, string>> } | undefined {
  if (name === undefined) return undefined;
  const kinds = CLOUD_KINDS as readonly unknown[] as readonly AnyCloudKind[];
  const kind = kinds.find(({ presets = {} }) => Object.hasOwn(presets, name));
  const preset = kind?.presets?.[name];
  return kind === undefined || preset === undefined ? undefined : { kind, preset };
}

/** The kind of a configuration that has been parsed. */
export function cloudKindOf({ provider }: CloudConfig): AnyCloudKind {
  const kind = findCloudKind(provider);
  if (kind === undefined) throw new Error(`"${provider}" is no cloud`);
  return kind;
}

/** The cloud of a configuration, imported only now. */
export function loadCloud(config: CloudConfig, options: LoadCloudOptions = {}): Promise<Cloud> {
  return cloudKindOf(config).load(config, options);
}
