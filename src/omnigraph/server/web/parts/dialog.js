/** A modal dialog: the browser keeps the focus inside, Escape closes it. */
import { html, useEffect, useRef } from "../vendor/core.js";

/** @param {{title: string, onClose: () => void, children: any}} props */
export function Dialog({ title, onClose, children }) {
  const host = useRef(/** @type {any} */ (null));
  useEffect(() => {
    host.current?.showModal();
  }, []);
  return html`<dialog ref=${host} aria-label=${title} onClose=${onClose} onClick=${(/** @type {any} */ event) => event.target === host.current && onClose()}>
    <h2>${title}</h2>
    ${children}
  </dialog>`;
}
