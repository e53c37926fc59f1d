import type { CheckedInput, FieldError } from "#config/describe-errors.ts";
import type { ControllerName } from "#core/event.ts";
import { WRITABLE_BY_RELAY } from "#core/relay-lease.ts";

/** The fields of an entry that the check reads. */
interface WritesEntry {
  readonly writes?: "function" | "relay";
  readonly controllers?: readonly ControllerName[];
  readonly signIn?: Readonly<Record<string, unknown>>;
}

/**
 * Rejects entries with `writes: relay` that enable a controller whose function must reach the cluster, or
 * that let a function sign in.
 */
export function checkWrites<Output>(checked: CheckedInput<Output>): CheckedInput<Output> {
  if (checked.kind === "faulty") return checked;
  const { writes, controllers = [], signIn = {} } = checked.value as WritesEntry;
  if (writes !== "relay") return checked;
  const faults = [
    ...controllers.flatMap(checkController),
    ...Object.keys(signIn).flatMap(createSignInCheck(signIn)),
  ];
  return faults.length === 0 ? checked : { kind: "faulty", faults };
}

function checkController(name: ControllerName, index: number): FieldError[] {
  if (WRITABLE_BY_RELAY.includes(name)) return [];
  const message = `${name} changes the cloud and reads the cluster in between, which takes a function that reaches it: with writes: relay there may be ${WRITABLE_BY_RELAY.join(", ")}; take it out, or give the functions a way to the API server and leave writes out`;
  return [{ path: ["controllers", index], message }];
}

function createSignInCheck(signIn: Readonly<Record<string, unknown>>): (role: string) => FieldError[] {
  return (role) => {
    if (role === "relay" || signIn[role] === undefined) return [];
    const message =
      "with writes: relay no function signs in; take it out, so that none holds a credential of the cluster";
    return [{ path: ["signIn", role], message }];
  };
}
