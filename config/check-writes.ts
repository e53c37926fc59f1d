import type { CheckedWriting, WrittenFault } from "#config/fault-words.ts";
import type { ControllerName } from "#core/event.ts";
import { WRITABLE_BY_RELAY } from "#core/written-by-relay.ts";

/** Of an entry, what the check reads. */
interface Written {
  readonly writes?: "function" | "relay";
  readonly controllers?: readonly ControllerName[];
  readonly signIn?: Readonly<Record<string, unknown>>;
}

/** Where the relay writes, no controller is on that a function has to reach the cluster for, and no function can sign in. */
export function checkWrites<Output>(checked: CheckedWriting<Output>): CheckedWriting<Output> {
  if (checked.kind === "faulty") return checked;
  const { writes, controllers = [], signIn = {} } = checked.value as Written;
  if (writes !== "relay") return checked;
  const faults = [
    ...controllers.flatMap(faultOfController),
    ...Object.keys(signIn).flatMap(faultOfSignIn(signIn)),
  ];
  return faults.length === 0 ? checked : { kind: "faulty", faults };
}

function faultOfController(name: ControllerName, index: number): WrittenFault[] {
  if (WRITABLE_BY_RELAY.includes(name)) return [];
  const message = `${name} changes the cloud and reads the cluster in between, which takes a function that reaches it: with writes: relay there may be ${WRITABLE_BY_RELAY.join(", ")}; take it out, or give the functions a way to the API server and leave writes out`;
  return [{ path: ["controllers", index], message }];
}

function faultOfSignIn(signIn: Readonly<Record<string, unknown>>): (role: string) => WrittenFault[] {
  return (role) => {
    if (role === "relay" || signIn[role] === undefined) return [];
    const message =
      "with writes: relay no function signs in; take it out, so that none holds a credential of the cluster";
    return [{ path: ["signIn", role], message }];
  };
}
