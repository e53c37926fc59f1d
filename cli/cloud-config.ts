import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { stockFormFault } from "#cli/stock-cloud-config.ts";
import type { Environment } from "#clouds/kind.ts";
import {
  type AnyCloudKind,
  CLOUD_KINDS,
  type CloudConfig,
  findCloudKind,
  findPreset,
} from "#clouds/kinds.ts";
import { checkWriting } from "#config/fault-words.ts";
import { isStockForm } from "#config/stock-form.ts";
import { parseYaml } from "#config/yaml-text.ts";
import { pathOf } from "#core/faults.ts";

/** A cluster's `cloud:` without the defaults, as it would stand in a clusters file. */
export type WrittenCloudConfig = z.input<typeof CloudConfig>;

/** What `--cloud-provider`, `--cloud-config` and the environment say together, or what is wrong with them. */
export type ParsedCloudConfig =
  | { readonly kind: "cloud"; readonly cloud: WrittenCloudConfig }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Parses a cloud-config (YAML, the keys of the cloud's entry in config/cluster.ts) for a provider. `environment` supplies
 * the region where AWS users expect it to come from; the file's own word wins. Without a text the provider alone is looked at.
 * `file` is where the text comes from, and named where a secret stands in it.
 */
export function parseCloudConfig(
  provider: string | undefined,
  text: string | undefined,
  environment: Environment,
  file = "--cloud-config",
): ParsedCloudConfig {
  const faults: ConfigurationFault[] = [];
  const { kind, preset = {} } = findPreset(provider) ?? { kind: findCloudKind(provider) };
  if (kind === undefined) {
    const given = provider === undefined ? "is required" : `"${provider}" is no cloud`;
    const known = (CLOUD_KINDS as readonly unknown[] as readonly AnyCloudKind[])
      .flatMap((each) => [each.provider, ...Object.keys(each.presets ?? {})])
      .join(", ");
    faults.push({ name: "--cloud-provider", message: `${given}; known are ${known}` });
  }
  const document = text === undefined ? undefined : parseMapping(text, faults);
  // Which keys are right only the cloud can tell: without one the file is not looked at further.
  if (kind === undefined || document === undefined) return { kind: "faults", faults };
  const said = kind.fromFile?.(document, file) ?? document;
  const written = { ...preset, ...supplied(said, environment, kind), provider: kind.provider };
  const checked = checkWriting(kind.config, written);
  // What was written and not what was parsed: a cluster's hash is of the former.
  if (checked.kind === "valid") return { kind: "cloud", cloud: written as WrittenCloudConfig };
  return {
    kind: "faults",
    faults: checked.faults.map(({ path, message }) => {
      const keys = path.map(String).join(".");
      // Keys with dashes stand as they are written, and are found among the environment's by that.
      const key = /^[\w-]+$/.test(keys) ? keys : pathOf(path);
      const variable = kind.environment[keys]?.[0];
      const hint = variable === undefined ? "" : ` (or set ${variable})`;
      return { name: `--cloud-config ${key}`, message: `${message}${hint}` };
    }),
  };
}

/** The document with what the environment says where it is silent; a key within another counts where that other one is written. */
function supplied(
  document: Readonly<Record<string, unknown>>,
  environment: Environment,
  kind: AnyCloudKind,
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
    faults.push({ name: "--cloud-config", message: stockFormFault(text) });
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
