import { describe, inject, it } from "vitest";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import type { AwsTools } from "#test/setup/aws-tools.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import type { Program } from "#test/setup/virtual-environment.ts";

/** Something that a suite needs of the machine, or why it could not be had. */
export type Part<Value> =
  | { readonly kind: "present"; readonly value: Value }
  | { readonly kind: "missing"; readonly because: string };

/** The parts by name, as the global setup found or made them. */
export interface Parts {
  readonly "control-plane": Part<ControlPlaneBinaries>;
  /** Beside the control plane's own programs, for those tests alone that set its store back. */
  readonly etcdutl: Part<string>;
  readonly moto: Part<MotoProgram>;
  readonly "aws-tools": Part<AwsTools>;
  readonly hcl2tojson: Part<Program>;
  /** Checks units of systemd, on machines that need not run it. */
  readonly "systemd-analyze": Part<string>;
  readonly kubectl: Part<string>;
  /** Checks Dockerfiles. */
  readonly hadolint: Part<Program>;
  readonly promtool: Part<string>;
  readonly prometheus: Part<string>;
  readonly chromium: Part<string>;
}

/** What `describeWithPart` hands to a suite's body. */
export type PartValue<Name extends keyof Parts> = Extract<Parts[Name], { readonly kind: "present" }>["value"];

declare module "vitest" {
  export interface ProvidedContext {
    readonly parts: Parts;
    /** A folder for what is built once in a run. */
    readonly builds: string;
  }
}

/**
 * A suite that needs a part of the machine. Without it the suite is one skipped test that says why, and with `CI=true`
 * one that fails, but for what only the system can have.
 */
export function describeWithPart<Name extends keyof Parts>(
  name: Name,
  title: string,
  body: (value: PartValue<Name>) => void,
): void {
  const part = getPart(name);
  describe(title, () => {
    if (part.kind === "present") body(part.value as PartValue<Name>);
    else reportMissing(name, part.because);
  });
}

/** A suite that needs a control plane and moto. */
export function describeWithBoth(
  title: string,
  body: (binaries: ControlPlaneBinaries, moto: MotoProgram) => void,
): void {
  describeWithPart("moto", title, (moto) => {
    const plane = getPart("control-plane");
    if (plane.kind === "present") body(plane.value, moto);
    else reportMissing("control-plane", plane.because);
  });
}

/** One test of a suite, as `test` makes it. */
export type MakeTest = (title: string, body: () => Promise<void>, timeoutMs?: number) => void;

/** Makes a test that needs a part of the machine beyond its suite's. Without the part it is skipped, and with `CI=true` it fails. */
export function testWithPart(name: keyof Parts): MakeTest {
  return (title, body, timeoutMs) => {
    const part = getPart(name);
    if (part.kind === "present") it(title, body, timeoutMs);
    else reportMissing(name, part.because, `${title}: `);
  };
}

/** The part as the global setup left it. */
export function getPart<Name extends keyof Parts>(name: Name): Parts[Name] {
  return inject("parts")[name];
}

/** Neither Go nor Python nor npm brings these: where the system has none, that is said and no more. */
const OF_THE_SYSTEM: ReadonlySet<keyof Parts> = new Set([
  "systemd-analyze",
  "kubectl",
  "promtool",
  "chromium",
  "prometheus",
]);

function reportMissing(name: keyof Parts, because: string, of = ""): void {
  const title = `${of}needs ${name}: ${because.split("\n", 1)[0]}`;
  if (process.env["CI"] !== "true" || OF_THE_SYSTEM.has(name)) {
    it.skip(title, () => {});
    return;
  }
  it(title, () => {
    throw new Error(`${name} is missing, and with CI=true nothing may be skipped: ${because}`);
  });
}
