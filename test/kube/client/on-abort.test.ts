import { describe, expect, test } from "vitest";
import { listenForAbort } from "#kube/client/time-limit.ts";

describe("onAbort", () => {
  test("calls every listener once, in order", () => {
    const controller = new AbortController();
    const heard: string[] = [];
    for (const name of ["a", "b", "c"]) listenForAbort(controller.signal, () => heard.push(name));
    controller.abort();
    controller.abort();
    expect(heard).toEqual(["a", "b", "c"]);
  });

  test("calls at once where the signal is aborted already", () => {
    let heard = 0;
    listenForAbort(AbortSignal.abort(), () => {
      heard += 1;
    });
    expect(heard).toBe(1);
  });

  test("forgets a listener that is taken back, and no other", () => {
    const controller = new AbortController();
    const heard: string[] = [];
    const listen = (): void => void heard.push("same");
    const release = listenForAbort(controller.signal, listen);
    listenForAbort(controller.signal, listen);
    release();
    release();
    controller.abort();
    expect(heard).toEqual(["same"]);
  });

  test("a listener may take back another while they are called", () => {
    const controller = new AbortController();
    const heard: string[] = [];
    listenForAbort(controller.signal, () => release());
    const release = listenForAbort(controller.signal, () => heard.push("taken back"));
    controller.abort();
    expect(heard).toEqual([]);
  });
});
