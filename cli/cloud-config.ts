import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { formatStockFormError } from "#cli/stock-cloud-config.ts";
import type { Environment } from "#clouds/provider.ts";
import {
  type AnyCloudProvider,
  CLOUD_PROVIDERS,
  type CloudConfig,
  findCloudProvider,
  findPreset,
} from "#clouds/providers.ts";
import { checkWriting } from "#config/describe-errors.ts";
import { isStockForm } from "#config/stock-form.ts";
import { parseYaml } from "#config/yaml-text.ts";
import { formatPath } from "#core/config-errors.ts";

/** A cluster's `cloud:` without defaults, as written in a clusters file. */
export type WrittenCloudConfig = z.input<typeof CloudConfig>;

/**
 * The combined value of `--cloud-provider`, `--cloud-config` and the environment, or what is wrong with them.
 */
export type ParsedCloudConfig =
  | { readonly kind: "cloud"; readonly cloud: WrittenCloudConfig }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Parses a cloud-config for a provider: YAML with the keys of the cloud's entry in config/cluster.ts.
 *
 * `environment` supplies the region where AWS users expect it; a value in the file wins. Without a text, only the provider is checked. `file` is the source of the text, named in the error if it contains a secret.
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
    const given = provider === undefined ? "is required" : `"${provider}" is no cloud`;
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
