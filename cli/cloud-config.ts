import { parse } from "yaml";
import * as z from "zod";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { CloudConfig } from "#core/cluster.ts";

/** The clouds that `--cloud-provider` names. */
export const CLOUD_PROVIDERS = ["aws", "memory"] as const;

/** What `--cloud-provider`, `--cloud-config` and the environment say together, or what is wrong with them. */
export type ParsedCloudConfig =
  | { readonly kind: "cloud"; readonly cloud: CloudConfig }
  | { readonly kind: "faults"; readonly faults: ConfigurationFault[] };

/**
 * Parses a cloud-config (YAML, the keys of the cloud's entry in core/cluster.ts) for a provider. `environment` supplies
 * the region where AWS users expect it to come from; the file's own word wins.
 */
export function parseCloudConfig(
  provider: string | undefined,
  text: string,
  environment: Readonly<Record<string, string | undefined>>,
): ParsedCloudConfig {
  const faults: ConfigurationFault[] = [];
  if (!CLOUD_PROVIDERS.some((known) => known === provider)) {
    const given = provider === undefined ? "is required" : `"${provider}" is no cloud`;
    faults.push({ name: "--cloud-provider", message: `${given}; known are ${CLOUD_PROVIDERS.join(", ")}` });
  }
  const document = parseYamlMapping(text);
  if (document === undefined) {
    faults.push({ name: "--cloud-config", message: "is not a YAML mapping of keys to values" });
    return { kind: "faults", faults };
  }
  // An unknown cloud is checked as the first one, so that its other faults are told in the same run.
  const known = faults.length === 0 ? provider : "aws";
  const region =
    known === "aws" ? (environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"]) : undefined;
  const parsed = CloudConfig.safeParse({
    ...(region === undefined ? {} : { region }),
    ...document,
    provider: known,
  });
  if (!parsed.success) faults.push(...parsed.error.issues.map(faultOfIssue));
  if (!parsed.success || faults.length > 0) return { kind: "faults", faults };
  return { kind: "cloud", cloud: parsed.data };
}

function parseYamlMapping(text: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(parse(text) ?? {});
  } catch {
    return undefined;
  }
}

function faultOfIssue(issue: z.core.$ZodIssue): ConfigurationFault {
  if (issue.code === "unrecognized_keys") {
    return {
      name: `--cloud-config ${issue.keys.join(", ")}`,
      message: "unknown key; keys are those of the reference",
    };
  }
  const key = issue.path.join(".");
  const hint = key === "region" ? " (or set AWS_REGION)" : "";
  return { name: `--cloud-config ${key}`, message: `${issue.message}${hint}` };
}
