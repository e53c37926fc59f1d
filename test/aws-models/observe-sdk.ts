import { Client } from "@smithy/core/client";

/** Receives the input of each command before it is serialized, which drops unknown members. */
export type InputObserver = (serviceId: string, operation: string, input: object) => void;

/** Observes the commands of all AWS SDK clients of this process until the returned function is called. */
export function observeSdk(observer: InputObserver): () => void {
  const prototype = Client.prototype as unknown as { send: Send };
  const { send } = prototype;
  prototype.send = function (this: SdkClient, command, ...rest) {
    const operation = command.constructor.name.replace(/Command$/, "");
    observer(this.config.serviceId, operation, command.input);
    return send.call(this, command, ...rest);
  };
  return () => {
    prototype.send = send;
  };
}

interface SdkClient {
  readonly config: { readonly serviceId: string };
}

type Send = (this: SdkClient, command: { readonly input: object }, ...rest: readonly unknown[]) => unknown;
