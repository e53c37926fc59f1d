import { stringify } from "yaml";
import * as z from "zod";
import type { Environment } from "#clouds/provider.ts";
import {
  type AnyCloudProvider,
  CLOUD_PROVIDERS,
  type CloudConfig,
  findCloudProvider,
  findPreset,
} from "#clouds/providers.ts";
import { checkWriting } from "#config/describe-errors.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import { isStockForm, parseYaml } from "#config/yaml-text.ts";
import { type ConfigurationFault, formatPath } from "#core/config-errors.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** A cluster's `cloud:` without defaults, as written in a clusters file. */
export type WrittenCloudConfig = z.input<typeof CloudConfig>;

/**
 * The combined value of `--cloud-provider`, `--cloud-config` and the environment, or what is wrong with them.
 */
export type ParsedCloudConfig =
  | { readonly kind: "cloud"; readonly cloud: WrittenCloudConfig }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/** The flags that describe a cluster's cloud, as typed. */
export interface CloudFlags {
  readonly cloudProvider?: string | undefined;
  /** The file with the cloud's own keys. */
  readonly cloudConfig?: string | undefined;
}

/** A cloud-config has ten lines. */
const MAX_CLOUD_CONFIG_BYTES = 1024 * 1024;

/** Reads the cloud from the flags and their cloud-config, or adds to `faults` why it cannot be used. */
export async function readCloudConfig(
  flags: CloudFlags,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<WrittenCloudConfig | undefined> {
  let text: string | undefined = "";
  try {
    if (flags.cloudConfig !== undefined)
      text = await readSmallFile(flags.cloudConfig, MAX_CLOUD_CONFIG_BYTES, { pipes: true });
  } catch (error) {
    // The file is unreadable, so no key in it counts as missing.
    text = undefined;
    faults.push({ name: "--cloud-config", message: `${flags.cloudConfig} ${describeFileError(error)}` });
  }
  const parsed = parseCloudConfig(flags.cloudProvider, text, environment, flags.cloudConfig);
  if (parsed.kind === "cloud") return parsed.cloud;
  faults.push(...parsed.faults);
  return undefined;
}

/**
 * Parses a cloud-config for a provider: YAML with the keys of the cloud's entry in src/config/cluster.ts.
 *
 * `environment` supplies the region where AWS users expect it; a value in the file wins. Without a text, only
 * the provider is checked. `file` is the source of the text, named in the error if it contains a secret.
 */
export function parseCloudConfig(
  provider: string | undefined,
  text: string | undefined,
  environment: Environment,
  file = "--cloud-config",
): ParsedCloudConfig {
  const faults: ConfigurationFault[] = [];
  const { kind, preset = {} } = findPreset(provider) ?? { kind: findCloudProvider(provider) };
  if (kind === undefined) {
    const given = provider === undefined ? "is required" : `"${provider}" is not a cloud`;
    const known = (CLOUD_PROVIDERS as readonly unknown[] as readonly AnyCloudProvider[])
      .flatMap((each) => [each.provider, ...Object.keys(each.presets ?? {})])
      .join(", ");
    faults.push({ name: "--cloud-provider", message: `${given}; known are ${known}` });
  }
  const document = text === undefined ? undefined : parseMapping(text, faults);
  // Only the cloud's schema knows the right keys, so without a cloud the file is not checked further.
  if (kind === undefined || document === undefined) return { kind: "faults", faults };
  const said = kind.convertFile?.(document, file) ?? document;
  const written = { ...preset, ...fillFromEnvironment(said, environment, kind), provider: kind.provider };
  const checked = checkWriting(kind.config, written);
  // Returns what was written, not what was parsed, because a cluster's hash covers what was written.
  if (checked.kind === "valid") return { kind: "cloud", cloud: written as WrittenCloudConfig };
  return {
    kind: "faults",
    faults: checked.faults.map(({ path, message }) => {
      const keys = path.map(String).join(".");
      // Keys with dashes are kept as written, which is how they are found among those from the environment.
      const key = /^[\w-]+$/.test(keys) ? keys : formatPath(path);
      const variable = kind.environment[keys]?.[0];
      const hint = variable === undefined ? "" : ` (or set ${variable})`;
      return { name: `--cloud-config ${key}`, message: `${message}${hint}` };
    }),
  };
}

/**
 * Returns the document with values from the environment for missing keys. A nested key counts only if its
 * parent is written.
 */
function fillFromEnvironment(
  document: Readonly<Record<string, unknown>>,
  environment: Environment,
  kind: AnyCloudProvider,
): Record<string, unknown> {
  const result: Record<string, unknown> = { ...document };
  for (const [path, names] of Object.entries(kind.environment)) {
    const value = names.map((name) => environment[name]).find((each) => each !== undefined && each !== "");
    if (value === undefined) continue;
    const [key = path, inner] = path.split(".");
    const present = result[key];
    if (inner === undefined) result[key] = present ?? value;
    else if (typeof present === "object" && present !== null) result[key] = { [inner]: value, ...present };
  }
  return result;
}

function parseMapping(text: string, faults: ConfigurationFault[]): Record<string, unknown> | undefined {
  if (isStockForm(text)) {
    faults.push({ name: "--cloud-config", message: formatStockFormError(text) });
    return undefined;
  }
  const parsed = parseYaml(text);
  if (parsed.kind === "faults") {
    for (const { line, column, message } of parsed.faults) {
      const place = line === undefined ? "" : ` line ${line}, column ${column}`;
      faults.push({ name: `--cloud-config${place}`, message });
    }
    return undefined;
  }
  const mapping = z.record(z.string(), z.unknown()).safeParse(parsed.value ?? {});
  if (mapping.success) return mapping.data;
  faults.push({ name: "--cloud-config", message: "is not a YAML mapping of keys to values" });
  return undefined;
}

/** Parses an INI value, which is always a string, to a YAML value. */
type ValueParser = (value: string) => unknown;

const parseText: ValueParser = (value) => value;

const parseNumber: ValueParser = (value) => (/^\d{1,9}$/.test(value) ? Number(value) : value);

const parseList: ValueParser = (value) => [value];

const parseBoolean: ValueParser = (value) => {
  if (/^(?:true|yes|on|1)$/i.test(value)) return true;
  return /^(?:false|no|off|0)$/i.test(value) ? false : value;
};

/** Our keys for those of the stock AWS controller, by the latter in lower case. */
const KEYS: Readonly<Record<string, readonly [key: string, reading: ValueParser]>> = {
  vpc: ["vpc", parseText],
  subnetid: ["subnetID", parseText],
  routetableid: ["routeTableIDs", parseList],
  kubernetesclustertag: ["clusterTag", parseText],
  kubernetesclusterid: ["clusterTag", parseText],
  rolearn: ["roleArn", parseText],
  sourcearn: ["sourceArn", parseText],
  supportedtopologyinstancetypepattern: ["topologyInstanceTypePattern", parseText],
  disablesecuritygroupingress: ["disableSecurityGroupIngress", parseBoolean],
  elbsecuritygroup: ["elbSecurityGroup", parseText],
  nlbsecuritygroupmode: ["nlbSecurityGroupMode", parseText],
  clusterserviceloadbalancerhealthprobemode: ["clusterServiceLoadBalancerHealthProbeMode", parseText],
  clusterservicesharedloadbalancerhealthprobeport: [
    "clusterServiceSharedLoadBalancerHealthProbePort",
    parseNumber,
  ],
  clusterservicesharedloadbalancerhealthprobepath: [
    "clusterServiceSharedLoadBalancerHealthProbePath",
    parseText,
  ],
};

/**
 * Extracts the region from a zone's name as the stock controller does: `us-west-2-lax-1a` is in `us-west-2`.
 */
const REGION_OF_ZONE = /^([a-zA-Z]+-)+\d+/;

/** The YAML for the stock AWS controller's INI, and the keys that have no equivalent. */
interface TranslatedConfig {
  readonly yaml: string;
  readonly leftOut: readonly string[];
}

/** Translates the `[Global]` section of a cloud-config as the stock AWS controller reads it. */
export function translateStockConfig(text: string): TranslatedConfig {
  const said: Record<string, unknown> = {};
  const families: string[] = [];
  const leftOut = new Set<string>();
  let section = "";
  for (const line of text.split("\n")) {
    const head = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1];
    if (head !== undefined) section = head;
    const [, key = "", written = ""] = /^\s*([A-Za-z]\w*)\s*=\s*(.*?)\s*(?:[#;].*)?$/.exec(line) ?? [];
    if (key === "") continue;
    const name = section.toLowerCase() === "global" ? key.toLowerCase() : "";
    const plain = written.replace(/^"(.*)"$/, "$1");
    if (name === "zone") said["region"] = REGION_OF_ZONE.exec(plain)?.[0] ?? plain;
    else if (name === "nodeipfamilies") families.push(plain);
    else if (name === "region") said["region"] ??= plain;
    else if (Object.hasOwn(KEYS, name)) {
      const [ours, reading] = KEYS[name] ?? ["", parseText];
      // To the stock controller an empty value means a missing line, and so does port 0.
      const value = reading(plain);
      if (plain !== "" && value !== 0) said[ours] = value;
      // A cluster that is named by the old key has both tags.
      if (plain !== "" && name === "kubernetesclustertag") said["legacyClusterTag"] = true;
    } else leftOut.add(sanitizeText(name === "" ? `[${section}] ${key}` : key, 64));
  }
  if (families.length > 0) said["nodeIPFamilies"] = families;
  return { yaml: stringify(said, { lineWidth: 0 }), leftOut: [...leftOut] };
}

/** Explains what to write instead of a cloud-config in the stock format. */
function formatStockFormError(text: string): string {
  const { yaml, leftOut } = translateStockConfig(text);
  const lines = yaml
    .trimEnd()
    .split("\n")
    .map((line) => `      ${sanitizeText(line)}`);
  const without =
    leftOut.length === 0 ? "" : `\n    without ${leftOut.join(", ")}, which nothing here corresponds to`;
  return `is INI, as the stock controller reads it; write it as YAML:\n${lines.join("\n")}${without}`;
}
