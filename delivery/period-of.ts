import type { ApiObject, Looks } from "#core/controller.ts";
import type { Settings } from "#core/settings.ts";

/** Seconds between two refreshes of a cluster's objects; undefined where the controller leaves that to whoever refreshes. */
export function periodOf<T extends ApiObject>(
  { everySeconds }: Looks<T>,
  settings: Settings,
): number | undefined {
  return typeof everySeconds === "function" ? everySeconds(settings) : everySeconds;
}
