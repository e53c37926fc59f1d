import { describe, inject, it } from "vitest";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import type { AwsTools } from "#test/setup/aws-tools.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import type { Program } from "#test/setup/virtual-environment.ts";

/** A part that a suite needs from the machine, or the reason why it is missing. */
export type Part<Value> =
  | { readonly kind: "present"; readonly value: Value }
  | {
      readonly kind: "missing";
      readonly because: string;
      /** Whether the run leaves it out by its mode, so that it is skipped with `CI=true`, too. */
      readonly isLeftToAll?: true;
    };

/** The parts by name. */
export interface Parts {
  readonly "control-plane": Part<ControlPlaneBinaries>;
  /** In addition to the control plane, only for tests that restore its store. */
  readonly etcdutl: Part<string>;
  /** The folder of the OpenAPI documents that the control plane's kube-apiserver serves. */
  readonly openapi: Part<string>;
  readonly moto: Part<MotoProgram>;
  readonly "aws-tools": Part<AwsTools>;
  /** The folder of AWS's service models. Every file that may call AWS has it without naming it. */
  readonly "aws-models": Part<string>;
  readonly hcl2tojson: Part<Program>;
  /** Judges requests and answers by what DigitalOcean publishes; so do the next ones for their clouds. */
  readonly "digitalocean-judge": Part<Program>;
  readonly "hcloud-judge": Part<Program>;
  readonly "openstack-judge": Part<Program>;
  readonly "oci-judge": Part<Program>;
  /** Checks systemd units, also on machines without systemd. */
  readonly "systemd-analyze": Part<string>;
  readonly kubectl: Part<string>;
  /** Checks Dockerfiles. */
  readonly hadolint: Part<Program>;
  readonly promtool: Part<string>;
  readonly prometheus: Part<string>;
  readonly chromium: Part<string>;
}

/** The value that `describeWithPart` passes to a suite's body. */
export type PartValue<Name extends keyof Parts> = Extract<Parts[Name], { readonly kind: "present" }>["value"];

declare module "vitest" {
  interface TaskMeta {
    /** Calls to AWS in the file that no service model was there to check. */
    uncheckedAwsCalls?: number;
  }
  export interface ProvidedContext {
    /** The parts that files of the run name, as the global setup found or created them. */
    readonly parts: Partial<Parts>;
    /** A folder for what is built once in a run. */
    readonly builds: string;
    /** The folder of the OpenAPI documents if they exist; null otherwise. */
    readonly openApiFolder: string | null;
  }
}

/**
 * Defines a suite that needs a part of the machine. Without the part the suite is one skipped test with the
 * reason. With `CI=true` it fails instead, unless only the operating system provides the part.
 */
export function describeWithPart<Name extends keyof Parts>(
  name: Name,
  title: string,
  body: (value: PartValue<Name>) => void,
): void {
  const part = getPart(name);
  describe(title, () => {
    if (part.kind === "present") body(part.value as PartValue<Name>);
    else reportMissing(name, part);
  });
}

/** Defines a suite that needs a control plane and moto. */
export function describeWithBoth(
  title: string,
  body: (binaries: ControlPlaneBinaries, moto: MotoProgram) => void,
): void {
  describeWithPart("moto", title, (moto) => {
    const plane = getPart("control-plane");
    if (plane.kind === "present") body(plane.value, moto);
    else reportMissing("control-plane", plane);
  });
}

/** Defines one test of a suite, like `test`. */
export type MakeTest = (title: string, body: () => Promise<void>, timeoutMs?: number) => void;

/**
 * Returns a `test` for tests that need a part in addition to their suite's. Without the part such a test is
 * skipped, and with `CI=true` it fails.
 */
export function testWithPart(name: keyof Parts): MakeTest {
  return (title, body, timeoutMs) => {
    const part = getPart(name);
    if (part.kind === "present") it(title, body, timeoutMs);
    else reportMissing(name, part, `${title}: `);
  };
}

/**
 * Returns the part as the global setup provided it. The setup finds only the parts that a test file names as
 * a text; for any other part it throws.
 */
export function getPart<Name extends keyof Parts>(name: Name): Parts[Name] {
  const part: Parts[Name] | undefined = inject("parts")[name];
  if (part !== undefined) return part;
  throw new Error(
    `the test setup did not make ${name}: name ${name} in a call of describeWithPart in the test file itself`,
  );
}

/**
 * Go, Python and npm do not provide these. If the system lacks one, its suites are skipped with the reason,
 * also in CI.
 */
const OF_THE_SYSTEM: ReadonlySet<keyof Parts> = new Set([
  "systemd-analyze",
  "kubectl",
  "promtool",
  "chromium",
  "prometheus",
]);

function reportMissing(
  name: keyof Parts,
  { because, isLeftToAll }: Extract<Part<never>, { readonly kind: "missing" }>,
  of = "",
): void {
  const title = `${of}needs ${name}: ${because.split("\n", 1)[0]}`;
  if (process.env["CI"] !== "true" || isLeftToAll || OF_THE_SYSTEM.has(name)) {
    it.skip(title, () => {});
    return;
  }
  it(title, () => {
    throw new Error(`${name} is missing, and with CI=true nothing may be skipped: ${because}`);
  });
}
