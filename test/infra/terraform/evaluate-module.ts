import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, it } from "vitest";
import type { Statement } from "#test/infra/deployed-rights.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { ROOT } from "../../../build/bundle.ts";

const run = promisify(execFile);

/** The module's files that contain only values and can be evaluated without a provider. */
const VALUES = [
  "variables.tf",
  "policies.tf",
  "functions.tf",
  "rules.tf",
  "statements.tf",
  "service-statements.tf",
  "shared-statements.tf",
];

/** The values of the module's resources. */
export interface Evaluated {
  readonly prefix: string;
  readonly rolePrefix: string;
  readonly functions: Readonly<Record<string, FunctionSettings>>;
  readonly environment: Readonly<Record<string, string>>;
  readonly rules: Readonly<Record<string, Rule>>;
  readonly statements: Readonly<Record<string, readonly Statement[]>>;
  readonly sessions: Readonly<Record<string, unknown>>;
  readonly trustPolicy: Policy;
  readonly queuePolicies: Readonly<Record<"failures" | "dead_letters", Policy>>;
  readonly shared: Readonly<Record<string, readonly Statement[]>>;
  readonly relayStatements: readonly Statement[];
  readonly attachments: Readonly<Record<string, { readonly policy: string; readonly function: string }>>;
}
interface Policy {
  readonly Statement: readonly Statement[];
}
interface FunctionSettings {
  readonly description: string;
  readonly memory_size: number;
  readonly timeout: number;
  readonly asynchronous: boolean;
}
interface Rule {
  readonly schedule_expression: string | null;
  readonly event_pattern: string | null;
  readonly state: string;
  readonly maximum_retry_attempts: number;
}

/** The target of a deployment. */
export interface Place {
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

/**
 * Defines a suite that needs Terraform or OpenTofu on the PATH. No package registry has either, so the suite
 * is skipped without one.
 */
export async function describeWithTerraform(title: string, body: (program: string) => void): Promise<void> {
  const program = (await findProgram("terraform")) ?? (await findProgram("tofu"));
  describe(title, () => {
    if (program === undefined) it.skip("needs terraform or tofu on the PATH", () => {});
    else body(program);
  });
}

/** Evaluates the module with variables; rejects with Terraform's message on one line. */
export async function evaluateModule(
  program: string,
  { partition, region, account }: Place,
  variables: Readonly<Record<string, unknown>>,
): Promise<Evaluated> {
  const folder = await mkdtemp(join(tmpdir(), "terraform-"));
  try {
    for (const name of VALUES) await copyFile(join(ROOT, "infra/terraform", name), join(folder, name));
    // Replaces the data sources, which call AWS.
    await writeFile(
      join(folder, "account.tf.json"),
      JSON.stringify({ locals: { partition, region, account }, output: OUTPUT }),
    );
    await writeFile(join(folder, "given.auto.tfvars.json"), JSON.stringify(variables));
    const terraform = (...args: readonly string[]): Promise<unknown> =>
      run(program, args, { cwd: folder, env: OFFLINE });
    await terraform("init", "-input=false", "-no-color");
    await terraform("apply", "-input=false", "-no-color", "-auto-approve").catch(({ stderr }) => {
      // Terraform prints a frame around the message and breaks its lines.
      throw new Error(String(stderr).replaceAll(/[│╷╵\s]+/g, " "));
    });
    const state = JSON.parse(await readFile(join(folder, "terraform.tfstate"), "utf8"));
    return state.outputs.module.value;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const OUTPUT = {
  module: {
    value: {
      prefix: `\${local.prefix}`,
      rolePrefix: `\${local.role_prefix}`,
      functions: `\${local.functions}`,
      environment: `\${local.environment}`,
      rules: `\${local.rules}`,
      statements: `\${local.statements}`,
      shared: `\${{ for name, given in local.granted : name => local.shared_statements[name] if given }}`,
      sessions: `\${local.sessions}`,
      trustPolicy: `\${local.trust_policy}`,
      queuePolicies: `\${local.queue_policies}`,
      relayStatements: `\${local.relay_statements}`,
      attachments: `\${local.attachments}`,
    },
  },
};

// Disables the user's own settings and the check for a newer version.
const OFFLINE = {
  PATH: process.env["PATH"],
  CHECKPOINT_DISABLE: "1",
  TF_CLI_CONFIG_FILE: "/dev/null",
  TF_IN_AUTOMATION: "1",
};
