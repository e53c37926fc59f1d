import { parse } from "yaml";
import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/kind.ts";
import { type AnyCloudKind, CLOUD_KINDS, type CloudConfig, findCloudKind } from "#clouds/kinds.ts";

/** A cluster's `cloud:` without the defaults, as it would stand in a clusters file. */
export type WrittenCloudConfig = z.input<typeof CloudConfig>;

/** What `--cloud-provider`, `--cloud-config` and the environment say together, or what is wrong with them. */
export type ParsedCloudConfig =
  | { readonly kind: "cloud"; readonly cloud: WrittenCloudConfig }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Parses a cloud-config (YAML, the keys of the cloud's entry in config/cluster.ts) for a provider. `environment` supplies
 * the region where AWS users expect it to come from; the file's own word wins.
 */
export function parseCloudConfig(
  provider: string | undefined,
  text: string,
  environment: Environment,
): ParsedCloudConfig {
  const faults: ConfigurationFault[] = [];
  const kind = findCloudKind(provider);
  if (kind === undefined) {
    const given = provider === undefined ? "is required" : `"${provider}" is no cloud`;
    const known = CLOUD_KINDS.map((each) => each.provider).join(", ");
    faults.push({ name: "--cloud-provider", message: `${given}; known are ${known}` });
  }
  const document = parseYamlMapping(text);
  if (document === undefined) {
    faults.push({ name: "--cloud-config", message: "is not a YAML mapping of keys to values" });
  }
  // Which keys are right only the cloud can tell: without one the file is not looked at further.
  if (kind === undefined || document === undefined) return { kind: "faults", faults };
  const written = { ...suppliedBy(environment, kind), ...document, provider: kind.provider };
  const parsed = kind.config.safeParse(written);
  // What was written and not what was parsed: a cluster's hash is of the former.
  if (parsed.success) return { kind: "cloud", cloud: written as WrittenCloudConfig };
  return { kind: "faults", faults: parsed.error.issues.map((issue) => faultOfIssue(issue, kind)) };
}

function suppliedBy(environment: Environment, kind: AnyCloudKind): Record<string, string> {
  const supplied = Object.entries(kind.environment).flatMap(([key, names]) => {
    const value = names.map((name) => environment[name]).find((each) => each !== undefined && each !== "");
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(supplied);
}

function parseYamlMapping(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(parse(text) ?? {});
  } catch {
    return undefined;
  }
}

function faultOfIssue(issue: z.core.$ZodIssue, { environment }: AnyCloudKind): ConfigurationFault {
  if (issue.code === "unrecognized_keys") {
    return {
      name: `--cloud-config ${issue.keys.join(", ")}`,
      message: "unknown key; keys are those of the reference",
    };
  }
  const key = issue.path.join(".");
  const variable = environment[key]?.[0];
  const hint = variable === undefined ? "" : ` (or set ${variable})`;
  return { name: `--cloud-config ${key}`, message: `${issue.message}${hint}` };
}
