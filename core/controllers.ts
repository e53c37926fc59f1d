import type { Controller } from "#core/controller.ts";
import { nodeController } from "#core/node/controller.ts";

/** Every controller there is; for processes that have all of them, as a function has one. */
export const CONTROLLERS: readonly Controller[] = [nodeController];

/** The controller of a canonical name, or undefined where there is none. */
export function findController(name: string): Controller | undefined {
  return CONTROLLERS.find((controller) => controller.name === name);
}
