// The list of keys, shown on "?".
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export const areKeysShown = signal(false);

const KEYS: [string, string][] = [
  ["?", "this list"],
  ["1 … 9", "the tabs, in their order"],
  ["W S", "zoom in, out"],
  ["A D", "move left, right"],
  ["Wheel", "scroll; with Ctrl zoom at the pointer; with Shift move in time"],
  ["Drag", "move; with Shift select a range of time"],
  ["F", "fit what is selected"],
  ["0", "show all"],
  ["M", "mark the range of what is selected"],
  ["/", "search; N next, Shift+N previous"],
  ["← →", "the slice before, after on the track"],
  ["↑ ↓", "the slice around, inside"],
  ["P C", "pin, collapse the track of what is selected"],
  ["Alt+↑ Alt+↓", "move that track up, down"],
  ["Esc", "select nothing"],
  ["Enter, Esc", "in a flame graph: zoom in, back; arrows walk it"],
  ["Ctrl+Enter", "in SQL: ask"],
];

export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isShown = areKeysShown.value;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <dialog
      ref={dialog}
      class="keys"
      aria-label="Keys"
      onClose={() => (areKeysShown.value = false)}
    >
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
